// SPDX-License-Identifier: Apache-2.0
// Makes bitmaps.txt: random Roaring bitmaps and their unions, by the Java library inside the official server.
//   java -cp fluss-server-0.9.1-incubating.jar tests/golden/Bitmaps.java SEED COUNT
// A line is: 32 or 64, two bitmaps, their union, in hexadecimal. The file holds, of SEED 1 COUNT 300, the first 90 lines
// shorter than 5,000 characters and the first two of 30,000 to 45,000.

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Random;
import org.apache.fluss.shaded.org.roaringbitmap.RoaringBitmap;
import org.apache.fluss.shaded.org.roaringbitmap.longlong.Roaring64Bitmap;

class Bitmaps {
    interface Add {
        void add(long value);
    }

    interface AddRange {
        void add(long from, long to);
    }

    static byte[] bytes(RoaringBitmap bitmap) {
        ByteBuffer out = ByteBuffer.allocate(bitmap.serializedSizeInBytes());
        bitmap.serialize(out);
        return out.array();
    }

    static byte[] bytes(Roaring64Bitmap bitmap) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        bitmap.serialize(new DataOutputStream(out));
        return out.toByteArray();
    }

    /** A container of a kind: few values, runs that are barely worth it, a bitmap, a full one. */
    static void fill(Random chance, long base, Add one, AddRange range) {
        switch (chance.nextInt(7)) {
            case 0 -> one.add(base + chance.nextInt(65536));
            case 1 -> {
                for (int i = chance.nextInt(12); i > 0; i--) {
                    one.add(base + chance.nextInt(40));
                }
            }
            case 2 -> {
                int from = chance.nextInt(20);
                range.add(base + from, base + from + 1 + chance.nextInt(6));
            }
            case 3 -> {
                for (int i = 0; i < 3; i++) {
                    int from = chance.nextInt(40000);
                    range.add(base + from, base + from + 1 + chance.nextInt(9000));
                }
            }
            case 4 -> {
                int step = 2 + chance.nextInt(20);
                for (int i = chance.nextInt(10); i < 65536; i += step) {
                    one.add(base + i);
                }
            }
            case 5 -> range.add(base, base + 65536);
            default -> {
                for (int i = 1 + chance.nextInt(4); i > 0; i--) {
                    int from = chance.nextInt(100);
                    range.add(base + from, base + from + 3);
                }
            }
        }
    }

    static RoaringBitmap draw32(Random chance) {
        RoaringBitmap bitmap = new RoaringBitmap();
        for (int i = chance.nextInt(6); i > 0; i--) {
            long base = (long) chance.nextInt(chance.nextBoolean() ? 4 : 65536) << 16;
            fill(chance, base, value -> bitmap.add((int) value), (from, to) -> bitmap.add(from, to));
        }
        if (chance.nextBoolean()) {
            bitmap.runOptimize();
        }
        if (chance.nextInt(4) == 0) {
            for (int i = 0; i < 20; i++) {
                bitmap.remove((chance.nextInt(4) << 16) + chance.nextInt(40));
            }
        }
        return bitmap;
    }

    static long base64(Random chance) {
        return switch (chance.nextInt(4)) {
            case 0 -> (long) chance.nextInt(4) << 16;
            case 1 -> (long) chance.nextInt(300) << 16;
            case 2 -> (long) chance.nextInt(3) << 40 | (long) chance.nextInt(300) << 24;
            default -> chance.nextLong() & ~0xFFFFL;
        };
    }

    static Roaring64Bitmap draw64(Random chance) {
        Roaring64Bitmap bitmap = new Roaring64Bitmap();
        boolean isWide = chance.nextInt(5) == 0;
        for (int i = isWide ? 20 + chance.nextInt(300) : chance.nextInt(8); i > 0; i--) {
            long base = base64(chance);
            if (isWide) {
                bitmap.addLong(base + chance.nextInt(3));
            } else {
                fill(chance, base, bitmap::addLong, bitmap::addRange);
            }
        }
        if (chance.nextBoolean()) {
            bitmap.runOptimize();
        }
        long[] values = bitmap.toArray();
        if (chance.nextInt(4) == 0 && values.length > 0) {
            for (int i = Math.min(400, values.length); i > 0; i--) {
                bitmap.removeLong(values[chance.nextInt(values.length)]);
            }
        }
        return bitmap;
    }

    static void print(String width, byte[]... bitmaps) {
        StringBuilder line = new StringBuilder(width);
        for (byte[] bitmap : bitmaps) {
            line.append(' ').append(HexFormat.of().formatHex(bitmap));
        }
        System.out.println(line);
    }

    public static void main(String[] arguments) throws IOException {
        Random chance = new Random(Long.parseLong(arguments[0]));
        for (int i = Integer.parseInt(arguments[1]); i > 0; i--) {
            byte[] a = bytes(draw32(chance));
            byte[] b = bytes(draw32(chance));
            RoaringBitmap union = new RoaringBitmap();
            RoaringBitmap other = new RoaringBitmap();
            union.deserialize(ByteBuffer.wrap(a));
            other.deserialize(ByteBuffer.wrap(b));
            union.or(other);
            union.runOptimize();
            print("32", a, b, bytes(union));
            byte[] c = bytes(draw64(chance));
            byte[] d = bytes(draw64(chance));
            Roaring64Bitmap union64 = new Roaring64Bitmap();
            Roaring64Bitmap other64 = new Roaring64Bitmap();
            union64.deserialize(ByteBuffer.wrap(c));
            other64.deserialize(ByteBuffer.wrap(d));
            union64.or(other64);
            union64.runOptimize();
            print("64", c, d, bytes(union64));
        }
    }
}
