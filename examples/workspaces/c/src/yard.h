#ifndef RAILYARD_YARD_H
#define RAILYARD_YARD_H

/* The yard: trains, tracks, and policies that say which train goes first. */

#include "queue.h"
#include "train.h"

struct yard;

/* A policy's two questions, as a table of functions. */
struct policy {
	const char *name;
	int (*compare)(const struct train *left, const struct train *right);
	int (*may_leave)(const struct yard *yard, const struct train *train);
};

struct yard {
	struct train trains[MAX_TRAINS];
	size_t train_count;
	size_t departed;
	const struct policy *policy;
	struct queue queue;
};

extern const struct policy policy_timetable;
extern const struct policy policy_heavy_first;

void yard_init(struct yard *yard, const struct policy *policy);
struct train *yard_add(struct yard *yard, const char *name, tick_t departs);
struct train *yard_find(struct yard *yard, const char *name);
enum status yard_dispatch(struct yard *yard);
size_t yard_simulate(struct yard *yard, tick_t until);

#endif
