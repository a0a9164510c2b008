#ifndef RAILYARD_TYPES_H
#define RAILYARD_TYPES_H

/* Words that all files of the simulation share. */

#include <stddef.h>
#include <stdint.h>

#define MAX_CARS 16
#define MAX_TRAINS 8
#define NAME_SIZE 24

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

typedef uint32_t tick_t;

enum status {
	STATUS_OK = 0,
	STATUS_FULL,
	STATUS_EMPTY,
	STATUS_UNKNOWN,
};

enum cargo {
	CARGO_NONE,
	CARGO_GRAIN,
	CARGO_STEEL,
	CARGO_PEOPLE,
	CARGO_KINDS,
};

const char *status_name(enum status status);
const char *cargo_name(enum cargo cargo);

#endif
