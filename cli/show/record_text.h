/* Prints messages of pprof and of OTLP by a format that names their fields; protobuf-c's descriptors
 * say where a field is and what type it has.
 *
 *     "<id>"            a number
 *     "<x:address>"     a number as 0x1f
 *     "<q:filename>"    a string, quoted as in --raw: bytes, or the string that an index leads to
 *     "<j:filename>"    the same as in JSON
 *     "<h:trace_id>"    bytes in hexadecimal
 *     "<n:payload>"     the number of bytes, or of the elements of a repeated field
 *     "<*values>"       the numbers of a repeated field, with a space before each
 *     "<*values:at>"    the same behind " at", if there are any
 *     "<?folded:word>"  " word" if a number is not 0
 *     "<+link:link>"    " link 3" if a number is not 0
 *     "<#>"             the index of the record in its table
 *     "<q:type.unit>"   a field of a message in this one; a message that is not there has zeros */
#ifndef CLI_SHOW_RECORD_TEXT_H
#define CLI_SHOW_RECORD_TEXT_H

#include "view.h"

/* Prints one message. profile has the strings. */
void cli_record_put(const cli_profile *profile, const ProtobufCMessage *message,
                    const char *format);

/* Prints all messages of a repeated field of `parent`, with `between` between two of them. Stops if
 * nobody reads stdout. */
void cli_records_put(const cli_profile *profile, const ProtobufCMessage *parent, const char *field,
                     const char *between, const char *format);

#endif
