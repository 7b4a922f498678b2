/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of `fluss`: one row of a table in main.c, one function in cmd_NAME.c. */
#ifndef FLUSS_CMD_H
#define FLUSS_CMD_H

/** Run a subcommand. argv[0] is its name. @return the exit status: 0 done, 1 failed, 2 wrong use */
typedef int (*cmd_fn)(int argc, char **argv);

typedef struct cmd {
    const char *name, *summary;
    cmd_fn run;
} cmd;

int cmd_acl(int argc, char **argv);
int cmd_append(int argc, char **argv);
int cmd_create_database(int argc, char **argv);
int cmd_create_partition(int argc, char **argv);
int cmd_create_table(int argc, char **argv);
int cmd_databases(int argc, char **argv);
int cmd_describe(int argc, char **argv);
int cmd_drop_database(int argc, char **argv);
int cmd_drop_partition(int argc, char **argv);
int cmd_drop_table(int argc, char **argv);
int cmd_lookup(int argc, char **argv);
int cmd_offsets(int argc, char **argv);
int cmd_partitions(int argc, char **argv);
int cmd_scan(int argc, char **argv);
int cmd_server(int argc, char **argv);
int cmd_tables(int argc, char **argv);
#endif
