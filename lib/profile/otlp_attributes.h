/* Attributes of the OTLP that the compact writer makes. An attribute is a key, a value and a unit; it
 * is interned by these. Failures are sticky in c->writer. */
#ifndef PD_PROFILE_OTLP_ATTRIBUTES_H
#define PD_PROFILE_OTLP_ATTRIBUTES_H

#include "profile/compact_format.h"

/* Values, appended to a buffer: the content of an AnyValue. */
void pd_otlp_put_text(pd_writer *writer, pd_buffer *buffer, pd_bytes text);
void pd_otlp_put_number(pd_writer *writer, pd_buffer *buffer, int64_t number);

/* A KeyValue, as a field with this number: the content of *value, which is emptied. `message` is used
 * to build it. */
void pd_otlp_put_pair(pd_writer *writer, pd_buffer *buffer, uint32_t number, pd_bytes key,
                      pd_buffer *value, pd_buffer *message);

/* The string with this number. */
pd_bytes pd_otlp_text_of(const pd_compact *c, uint32_t string);

/* The index of a string in the string table, where it is put if it is not there yet. */
uint32_t pd_otlp_strindex(pd_compact *c, uint32_t string);

/* The index of the attribute with the content of o->value, which is emptied. key and unit are numbers
 * of strings. */
uint32_t pd_otlp_attribute(pd_compact *c, uint32_t key, uint32_t unit);

/* The same for `true`, and for the string with this number. */
uint32_t pd_otlp_true(pd_compact *c, const char *key);
uint32_t pd_otlp_text_attribute(pd_compact *c, const char *key, uint32_t string);

/* The same for an encoded AnyValue. */
uint32_t pd_otlp_value_attribute(pd_compact *c, uint32_t key, uint32_t unit, pd_bytes value);

/* Gives the mapping, the location or the sample that is added next an attribute. A mapping or a location
 * then has none that the writer makes of its other members. Or gives one to the Profile of a type. */
void pd_otlp_own(pd_compact *c, uint32_t attribute);
void pd_otlp_own_of_profile(pd_compact *c, uint32_t type, uint32_t attribute);

/* Takes away the labels [from, to) of the sample. */
void pd_otlp_remove_labels(pd_compact *c, size_t from, size_t to);

/* The index of the entry of a table of the dictionary with this content, which is emptied. No content:
 * 0. */
uint32_t pd_otlp_entry(pd_compact *c, pd_keymap *contents, pd_buffer *table, uint32_t number,
                       pd_buffer *content);

/* The fields of a Sample with the attributes and the link that the labels in c->labels are; empty if
 * there are none. PD_PIECE bytes after it may be read. Valid until the next call. */
pd_bytes pd_otlp_labels(pd_compact *c);

/* The names of the attributes that the flags of a mapping are, from has_functions on. */
enum { PD_OTLP_MAPPING_FLAGS = 4 };
extern const char *const pd_otlp_mapping_has[PD_OTLP_MAPPING_FLAGS];

/* The name of the attribute that a build id of a mapping is. */
const char *pd_otlp_build_id_key(pd_bytes build_id);

/* What a format has of options.resource, made once. Appends to *out: in OTLP, the content of a Resource; in
 * tables, the value of "target"; in pprof, nothing. A later attribute replaces an earlier one with the same
 * key, in the place of the earlier one. Bytes that are not UTF-8 become U+FFFD. */
pprofdelta_status pd_otlp_resource(pprofdelta_format format, const pprofdelta_attribute *attributes,
                                   size_t len, pd_mem *mem, pd_buffer *out, pprofdelta_error *err);

#endif
