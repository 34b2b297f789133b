/* The names of functions as people say them. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include "text.h"

enum { CLI_SHORT_NAME_MAX = 8192 };

/* Leaves out of a demangled name what it is said without: default template arguments, the namespaces
 * and tags of an ABI, and the template that std::string stands for:
 *
 *     std::__cxx11::list<std::__cxx11::basic_string<char, std::char_traits<char>,
 *         std::allocator<char> >, std::allocator<...> >::push_back
 *     std::list<std::string>::push_back
 *
 * Returns the short name, which is in `to`, or the name itself: if nothing is left out, or if it is longer
 * than CLI_SHORT_NAME_MAX. */
cli_string cli_short_name(cli_string name, char to[CLI_SHORT_NAME_MAX]);
/* Whether a frame is of a language whose names are not read by the rules of C, C++, Rust and Go. Decides by the extension of the source file, or of the file of the mapping if there is no source: .rb, .py,
 * .java, .js and so on. The sources that interpreters make up, such as "<string>" and "node:fs", count too. A
 * frame that has neither is not foreign: its name alone decides then. */
bool cli_is_foreign(cli_string source, cli_string module);

#endif
