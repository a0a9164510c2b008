/* Names of the words in types.h. */

#include "types.h"

static const char *const status_names[] = {
	[STATUS_OK] = "ok",
	[STATUS_FULL] = "full",
	[STATUS_EMPTY] = "empty",
	[STATUS_UNKNOWN] = "unknown",
};

static const char *const cargo_names[CARGO_KINDS] = {
	[CARGO_NONE] = "nothing",
	[CARGO_GRAIN] = "grain 🌾",
	[CARGO_STEEL] = "steel",
	[CARGO_PEOPLE] = "people 👪",
};

/* Its namesake in queue.c has nothing to do with it. */
static const char *pick(const char *const *names, size_t length, size_t index)
{
	return index < length ? names[index] : "?";
}

const char *status_name(enum status status)
{
	return pick(status_names, ARRAY_LEN(status_names), (size_t)status);
}

const char *cargo_name(enum cargo cargo)
{
	return pick(cargo_names, ARRAY_LEN(cargo_names), (size_t)cargo);
}
