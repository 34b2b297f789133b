/* Puts structs of the library into the answer of the module: see glue.h. Made by bindings/facts.py from pprofdelta.h. Do not edit. */
/* clang-format off */

static void put_type_report(const pprofdelta_type_report *from)
{
    put_text(from->type);
    put_text(from->unit);
    put32(from->is_counter != 0);
    put_sum(from->prev);
    put_sum(from->cur);
    put_sum(from->delta);
    put_sum(from->clamped);
    put_sum(from->vanished);
}

static void put_stamp(const pprofdelta_stamp *from)
{
    put32(from->is_delta != 0);
    put64((uint64_t)from->from_nanos);
    put64((uint64_t)from->to_nanos);
    put64(from->sequence);
    put32((uint32_t)from->restart);
    put32((uint32_t)from->live);
    put64(from->id);
    put64(from->epoch);
    put64(from->first);
    put64(from->attempt);
    put64(from->acked);
    put64(from->windows);
    put64(from->targets);
}

static void put_report(const pprofdelta_report *from)
{
    put64(from->samples_in);
    put64(from->samples_out);
    put64(from->matched);
    put64(from->fresh);
    put64(from->vanished);
    put64(from->clamped);
    put64(from->duplicates);
    put64(from->by_address);
    put64(from->by_lines);
    put64(from->files_replaced);
    put32(from->other_build != 0);
    put64(from->unknown_fields);
    put32(from->had_base != 0);
    put32((uint32_t)from->restart);
    put64((uint64_t)from->from_nanos);
    put64((uint64_t)from->to_nanos);
    put64(from->sequence);
    put64(from->attempt);
    put64(from->output_len);
    put32((uint32_t)from->types_len);
    for (size_t i = 0; i < from->types_len; i++)
        put_type_report(PPROFDELTA_TYPE(from, i));
    put32(from->is_same != 0);
    put32(from->may_be_window != 0);
    put32(from->clock_set_back != 0);
    put64(from->id);
    put64(from->left_out);
    put32(from->may_be_two_kinds != 0);
}

static void put_memory(const pprofdelta_memory *from)
{
    put32(from->has_base != 0);
    put64(from->sequence);
    put64(from->attempts);
    put64(from->samples);
    put64(from->unseen);
    put64((uint64_t)from->from_nanos);
    put64((uint64_t)from->to_nanos);
    put32((uint32_t)from->restart);
    put_text(from->build_id);
    put32((uint32_t)from->types_len);
    for (size_t i = 0; i < from->types_len; i++)
        put_type_report(PPROFDELTA_TYPE(from, i));
    put64(from->open_sequence);
    put64((uint64_t)from->open_from_nanos);
    put64((uint64_t)from->open_to_nanos);
    put32((uint32_t)from->open_restart);
    put64(from->id);
    put64(from->bytes);
}

static void put_census(const pprofdelta_census *from)
{
    put_text(from->format);
    put64(from->inflated_len);
    put64(from->types);
    put64(from->samples);
    put64(from->mappings);
    put64(from->locations);
    put64(from->functions);
    put64(from->strings);
    put64(from->by_address);
    put64(from->by_lines);
    put64(from->unknown_fields);
    put64((uint64_t)from->time_nanos);
    put64((uint64_t)from->duration_nanos);
    put32(from->is_stamped != 0);
    put_stamp(&from->stamp);
    put_bytes(from->binary, from->binary_len);
    put_bytes(from->build_id, from->build_id_len);
    put64(from->resources);
    put64(from->scopes);
    put64(from->profiles);
    put64(from->timestamps);
    put64(from->links);
    put64(from->payloads);
    put64(from->other_attributes);
}
