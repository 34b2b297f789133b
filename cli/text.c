/* Names made safe to print: see text.h. */
#include "text.h"

#include <stdint.h>
#include <string.h>

/* The length of the well-formed UTF-8 sequence at the beginning of text; 0 if there is none.
 * Overlong forms, surrogates and codes above U+10FFFF are not well-formed. */
static size_t decode_utf8(const unsigned char *text, size_t len, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (text[0] < 0x80) {
        *code = text[0];
        return 1;
    }
    size_t need = text[0] < 0xc2   ? 0
                  : text[0] < 0xe0 ? 2
                  : text[0] < 0xf0 ? 3
                  : text[0] < 0xf5 ? 4
                                   : 0;
    if (!need || need > len)
        return 0;
    uint32_t value = text[0] & (0x7fu >> need);
    for (size_t i = 1; i < need; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3f);
    }
    if (value < least[need] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return need;
}

/* Is it a control character, of the terminal or of the direction of text? */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* Escapes each byte of the character as \xNN; in a script and a label, the backslash too. */
static void escape_bytes(cli_glyph *glyph, const unsigned char *text, cli_text_form form)
{
    for (size_t i = 0; i < glyph->taken; i++)
        glyph->len += (size_t)sprintf(glyph->bytes + glyph->len,
                                      form >= CLI_TEXT_SCRIPT ? "\\\\x%02x" : "\\x%02x", text[i]);
}

static void set_glyph(cli_glyph *glyph, const char *bytes)
{
    glyph->len = strlen(bytes);
    memcpy(glyph->bytes, bytes, glyph->len);
}

bool cli_string_next(cli_string *string, cli_text_form form, cli_glyph *glyph)
{
    const unsigned char *text = (const unsigned char *)string->ptr;
    bool is_json = form == CLI_TEXT_JSON;
    uint32_t code = 0;
    if (!string->len)
        return false;
    size_t known = decode_utf8(text, string->len, &code);
    *glyph = (cli_glyph){.taken = known ? known : 1};
    *string = (cli_string){string->ptr + glyph->taken, string->len - glyph->taken};
    if (!known && is_json)
        set_glyph(glyph, "\\ufffd");
    else if (form != CLI_TEXT_SHOWN && known && (code == '"' || code == '\\'))
        set_glyph(glyph, code == '"' ? "\\\"" : "\\\\");
    else if (code == '\n' && form == CLI_TEXT_LABEL)
        set_glyph(glyph, "\\n");
    else if (code == '<' && form == CLI_TEXT_SCRIPT)
        set_glyph(glyph, "\\u003c");
    else if (known && is_control(code) && is_json)
        glyph->len = (size_t)sprintf(glyph->bytes, "\\u%04x", (unsigned)code & 0xffff);
    else if (!known || is_control(code))
        escape_bytes(glyph, text, form);
    else
        memcpy(glyph->bytes, text, known);
    glyph->columns = glyph->len ? glyph->len : 1;
    glyph->len = glyph->len ? glyph->len : known;
    return true;
}

cli_string cli_string_of(const char *text)
{
    return (cli_string){text, strlen(text)};
}

bool cli_string_begins(cli_string string, const char *with)
{
    size_t len = strlen(with);
    return string.len >= len && !memcmp(string.ptr, with, len);
}

bool cli_string_ends(cli_string string, const char *with)
{
    size_t len = strlen(with);
    return string.len >= len && !memcmp(string.ptr + string.len - len, with, len);
}

bool cli_string_is(cli_string string, const char *text)
{
    return !cli_string_compare(string, cli_string_of(text));
}

cli_string cli_string_base(cli_string path)
{
    const char *slash = memrchr(path.ptr, '/', path.len);
    size_t from = slash ? (size_t)(slash - path.ptr) + 1 : 0;
    return (cli_string){path.ptr + from, path.len - from};
}

int cli_string_compare(cli_string a, cli_string b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* The number of characters at the beginning that are the same in every form. */
static size_t count_plain(cli_string string)
{
    size_t len = 0;
    while (len < string.len && string.ptr[len] >= ' ' && string.ptr[len] < 0x7f &&
           string.ptr[len] != '"' && string.ptr[len] != '\\' && string.ptr[len] != '<')
        len++;
    return len;
}

void cli_string_put(FILE *out, cli_string string, cli_text_form form)
{
    if (form != CLI_TEXT_SHOWN)
        putc('"', out);
    cli_glyph glyph;
    do {
        size_t len = count_plain(string);
        fwrite(string.ptr, 1, len, out);
        string = (cli_string){string.ptr + len, string.len - len};
        if (!cli_string_next(&string, form, &glyph))
            break;
        fwrite(glyph.bytes, 1, glyph.len, out);
    } while (string.len);
    if (form != CLI_TEXT_SHOWN)
        putc('"', out);
}

size_t cli_string_write(char *buf, size_t room, cli_string string)
{
    size_t len = 0;
    for (cli_glyph glyph; cli_string_next(&string, CLI_TEXT_SHOWN, &glyph);) {
        if (glyph.len >= room - len)
            break;
        memcpy(buf + len, glyph.bytes, glyph.len);
        len += glyph.len;
    }
    buf[len] = 0;
    return len;
}

size_t cli_string_columns(cli_string string)
{
    size_t columns = 0;
    for (cli_glyph glyph; cli_string_next(&string, CLI_TEXT_SHOWN, &glyph);)
        columns += glyph.columns;
    return columns;
}

void cli_string_put_cut(FILE *out, cli_string string, size_t columns)
{
    static const char gap[] = "...";
    size_t whole = cli_string_columns(string);
    if (whole <= columns) {
        cli_string_put(out, string, CLI_TEXT_SHOWN);
        return;
    }
    size_t room = columns > sizeof gap - 1 ? columns - (sizeof gap - 1) : 0;
    size_t head = room / 3, tail = room - head;
    size_t column = 0;
    bool gapped = false;
    for (cli_glyph glyph; cli_string_next(&string, CLI_TEXT_SHOWN, &glyph);) {
        bool in_head = !gapped && column + glyph.columns <= head;
        if (in_head || column >= whole - tail) {
            fwrite(glyph.bytes, 1, glyph.len, out);
        } else if (!gapped) {
            fputs(gap, out);
            gapped = true;
        }
        column += glyph.columns;
    }
}
