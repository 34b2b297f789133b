/* A temporary file beside the one that it will replace, which no way out of the process forgets.
 *
 * SIGINT, SIGTERM and SIGHUP remove it and then do what they always do. Creating the file and
 * remembering its name is one step to them, and so is renaming it and forgetting the name. There is
 * one temporary file at a time. */
#ifndef CLI_TEMPORARY_H
#define CLI_TEMPORARY_H

/* Creates a file beside `target`, with target's mode and owner if it exists. Returns its name,
 * which temporary_replace or temporary_remove frees, and its descriptor in *fd; or NULL with errno
 * set. */
char *cli_temporary_create(const char *target, int *fd);

/* Renames it to target. Returns 0, or -1 with errno set and the file removed. */
int cli_temporary_replace(char *name, const char *target);

void cli_temporary_remove(char *name);

#endif
