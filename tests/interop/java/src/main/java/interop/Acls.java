// SPDX-License-Identifier: Apache-2.0
package interop;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.DatabaseDescriptor;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.security.acl.AccessControlEntry;
import org.apache.fluss.security.acl.AccessControlEntryFilter;
import org.apache.fluss.security.acl.AclBinding;
import org.apache.fluss.security.acl.AclBindingFilter;
import org.apache.fluss.security.acl.FlussPrincipal;
import org.apache.fluss.security.acl.OperationType;
import org.apache.fluss.security.acl.PermissionType;
import org.apache.fluss.security.acl.Resource;
import org.apache.fluss.security.acl.ResourceFilter;
import org.apache.fluss.security.acl.ResourceType;
import org.apache.fluss.types.DataTypes;

/**
 * The ACL calls of the official Java client.
 *
 * <p>{@code Acls HOST:PORT} takes a SASL listener of a server with an authorizer, the super user
 * admin and the user alice; makes, lists and drops ACLs and tries what alice may with them. Prints a
 * line a check and closes with {@code N passed, N failed}.
 */
public final class Acls {
    private static final String DATABASE = "java_acls";
    private static final TablePath PATH = TablePath.of(DATABASE, "t");
    private static final FlussPrincipal ALICE = new FlussPrincipal("alice", "User");
    private static final long SETTLE_MS = 10_000; // servers of a cluster hear of it a moment later

    private int passed;
    private int failed;

    private void check(String what, Object found, Object expected) {
        boolean isRight = Objects.equals(found, expected);
        passed += isRight ? 1 : 0;
        failed += isRight ? 0 : 1;
        System.out.println(
                isRight
                        ? "ok      " + what
                        : "FAILED  " + what + ": found " + found + ", expected " + expected);
    }

    private static Connection connect(String address, String user) {
        Configuration configuration = new Configuration();
        configuration.setString("bootstrap.servers", address);
        configuration.setString("client.security.protocol", "SASL");
        configuration.setString("client.security.sasl.mechanism", "PLAIN");
        configuration.setString("client.security.sasl.username", user);
        configuration.setString("client.security.sasl.password", user + "-secret");
        return ConnectionFactory.createConnection(configuration);
    }

    private static AclBinding binding(
            Resource resource, FlussPrincipal who, String host, OperationType operation) {
        return new AclBinding(
                resource, new AccessControlEntry(who, host, operation, PermissionType.ALLOW));
    }

    private static AclBindingFilter filter(
            ResourceFilter resource, FlussPrincipal who, OperationType operation) {
        return new AclBindingFilter(
                resource,
                new AccessControlEntryFilter(who, null, operation, PermissionType.ANY));
    }

    private static Set<AclBinding> listed(Admin admin, AclBindingFilter filter) throws Exception {
        return new HashSet<>(admin.listAcls(filter).get());
    }

    /** "ok", or the class of the exception; asked again until it is as expected, or time is over. */
    private static String outcome(Callable<?> call, String expected) throws Exception {
        long deadline = System.currentTimeMillis() + SETTLE_MS;
        while (true) {
            String found;
            try {
                call.call();
                found = "ok";
            } catch (ExecutionException e) {
                found = e.getCause().getClass().getSimpleName();
            } catch (RuntimeException e) {
                found = e.getClass().getSimpleName();
            }
            if (found.equals(expected) || System.currentTimeMillis() > deadline) {
                return found;
            }
            Thread.sleep(50);
        }
    }

    private void bindings(Admin admin) throws Exception {
        List<AclBinding> all =
                Arrays.asList(
                        binding(Resource.table(PATH), ALICE, "*", OperationType.READ),
                        binding(Resource.table(PATH), ALICE, "127.0.0.1", OperationType.WRITE),
                        binding(Resource.database(DATABASE), ALICE, "*", OperationType.DESCRIBE),
                        binding(Resource.cluster(), ALICE, "*", OperationType.CREATE),
                        binding(
                                new Resource(ResourceType.TABLE, "*"),
                                FlussPrincipal.WILD_CARD_PRINCIPAL,
                                "*",
                                OperationType.ALTER));
        admin.createAcls(all).all().get();
        admin.createAcls(all.subList(0, 1)).all().get(); // again: nothing happens
        check("all are listed", listed(admin, AclBindingFilter.ANY), new HashSet<>(all));
        ResourceFilter table = new ResourceFilter(ResourceType.TABLE, PATH.toString());
        check(
                "those of the table",
                listed(admin, filter(table, null, OperationType.ANY)),
                new HashSet<>(all.subList(0, 2)));
        check(
                "those of alice to read",
                listed(admin, filter(ResourceFilter.ANY, ALICE, OperationType.READ)),
                Collections.singleton(all.get(0)));
        check(
                "those of nobody",
                listed(
                        admin,
                        filter(
                                ResourceFilter.ANY,
                                new FlussPrincipal("nobody", "User"),
                                OperationType.ANY)),
                Collections.emptySet());
        Collection<AclBinding> dropped =
                admin.dropAcls(
                                Arrays.asList(
                                        filter(table, ALICE, OperationType.READ),
                                        filter(
                                                new ResourceFilter(ResourceType.CLUSTER, null),
                                                null,
                                                OperationType.ANY)))
                        .all()
                        .get();
        check(
                "what was dropped is told",
                new HashSet<>(dropped),
                new HashSet<>(Arrays.asList(all.get(0), all.get(3))));
        check(
                "the others stay",
                listed(admin, AclBindingFilter.ANY),
                new HashSet<>(Arrays.asList(all.get(1), all.get(2), all.get(4))));
        admin.dropAcls(Collections.singleton(AclBindingFilter.ANY)).all().get();
        check("all are gone", listed(admin, AclBindingFilter.ANY), Collections.emptySet());
    }

    private void effects(Admin admin, Admin alice) throws Exception {
        String denied = "AuthorizationException";
        Callable<?> describe = () -> alice.getTableInfo(PATH).get();
        Callable<?> create =
                () -> alice.createDatabase("java_acls_2", DatabaseDescriptor.EMPTY, true).get();
        AclBinding read = binding(Resource.table(PATH), ALICE, "*", OperationType.READ);
        check("alice may not see the table", outcome(describe, denied), denied);
        check("nor make a database", outcome(create, denied), denied);
        check(
                "nor make an ACL",
                outcome(() -> alice.createAcls(Collections.singleton(read)).all().get(), denied),
                denied);
        admin.createAcls(Collections.singleton(read)).all().get();
        check("with READ she may see it", outcome(describe, "ok"), "ok");
        check("but not drop it", outcome(() -> alice.dropTable(PATH, false).get(), denied), denied);
        admin.dropAcls(Collections.singleton(filter(ResourceFilter.ANY, ALICE, OperationType.ANY)))
                .all()
                .get();
        check("without it she may not", outcome(describe, denied), denied);
        AclBinding elsewhere = binding(Resource.table(PATH), ALICE, "10.9.8.7", OperationType.READ);
        admin.createAcls(Collections.singleton(elsewhere)).all().get();
        check("a right from elsewhere does not count", outcome(describe, denied), denied);
        AclBinding everyone =
                binding(
                        Resource.database(DATABASE),
                        FlussPrincipal.WILD_CARD_PRINCIPAL,
                        "*",
                        OperationType.ALL);
        admin.createAcls(Collections.singleton(everyone)).all().get();
        check("everyone's right counts", outcome(describe, "ok"), "ok");
        admin.dropAcls(Collections.singleton(AclBindingFilter.ANY)).all().get();
    }

    private void run(String address) throws Exception {
        try (Connection adminConnection = connect(address, "admin");
                Connection aliceConnection = connect(address, "alice")) {
            Admin admin = adminConnection.getAdmin();
            admin.dropDatabase(DATABASE, true, true).get();
            admin.dropAcls(Collections.singleton(AclBindingFilter.ANY)).all().get();
            admin.createDatabase(DATABASE, DatabaseDescriptor.EMPTY, false).get();
            Schema schema = Schema.newBuilder().column("id", DataTypes.INT()).build();
            admin.createTable(
                            PATH,
                            TableDescriptor.builder().schema(schema).distributedBy(1).build(),
                            false)
                    .get();
            bindings(admin);
            effects(admin, aliceConnection.getAdmin());
            admin.dropDatabase(DATABASE, true, true).get();
        }
    }

    public static void main(String[] arguments) {
        Acls acls = new Acls();
        try {
            acls.run(arguments[0]);
        } catch (Exception e) {
            acls.failed++;
            e.printStackTrace(System.out);
        }
        System.out.println(acls.passed + " passed, " + acls.failed + " failed");
        System.exit(acls.failed > 0 || acls.passed == 0 ? 1 : 0);
    }
}
