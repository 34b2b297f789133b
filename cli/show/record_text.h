/* Prints messages of pprof and of OTLP by a format that names their fields; protobuf-c's descriptors
 * say where a field is and what type it has.
 *
 *     "<id>"            a number
 *     "<x:address>"     a number as 0x1f
 *     "<q:filename>"    a string, quoted as in --raw: bytes, or the string that an index leads to
 *     "<j:filename>"    the same as in JSON
 *     "<s:filename>"    the same as it is shown to people
 *     "<f:function_id>" the quoted name of the function with that id
 *     "<h:trace_id>"    bytes in hexadecimal
 *     "<v:value>"       a value of OTLP as JSON; "<.>" is the message itself, which is one
 *     "<d:value>"       a double as JSON
 *     "<n:payload>"     the number of bytes, or of the elements of a repeated field
 *     "<*values>"       the numbers of a repeated field, with a space before each
 *     "<,values>"       the same with commas between them
 *     "<#>"             the index of the record in its list
 *     "<q:type.unit>"   a field of a message in this one; a message that is not there has zeros
 *
 * and of parts that end with "<]>":
 *
 *     "<[lines|, >...<]>"    each message of a repeated field, with ", " between them; of a field of
 *                            strings, "<[comment|, ><q:comment><]>", each string
 *     "<@indices|, >...<]>"  the same for the attributes of OTLP that the indices lead to
 *     "<?a,b|>...<]>"        if one of the fields is not 0 and not empty
 *     "<!a|>...<]>"          if none is */
#ifndef CLI_SHOW_RECORD_TEXT_H
#define CLI_SHOW_RECORD_TEXT_H

#include "view.h"

/* Prints one message. profile has the strings. Lists end early if nobody reads stdout. */
void cli_record_put(const cli_profile *profile, const ProtobufCMessage *message,
                    const char *format);

#endif
