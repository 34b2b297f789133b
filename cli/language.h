/* Whether a frame is of a language whose names are not read by the rules of C, C++, Rust and Go. */
#ifndef CLI_LANGUAGE_H
#define CLI_LANGUAGE_H

#include "text.h"

/* Decides by the extension of the source file, or of the file of the mapping if there is no source: .rb, .py,
 * .java, .js and so on. The sources that interpreters make up, such as "<string>" and "node:fs", count too. A
 * frame that has neither is not foreign: its name alone decides then. */
bool cli_is_foreign(cli_string source, cli_string module);

#endif
