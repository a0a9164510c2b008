/* Which train goes first. This file has Windows line ends on purpose. */

#include "yard.h"

/* Trains heavier than this wait until another has left. */
#define HEAVY 200

static int by_time(const struct train *left, const struct train *right)
{
	return (left->departs > right->departs) - (left->departs < right->departs);
}

static int by_weight(const struct train *left, const struct train *right)
{
	unsigned l = train_weight(left), r = train_weight(right);

	return (l < r) - (l > r);
}

static int on_time(const struct yard *yard, const struct train *train)
{
	return train->departs <= yard->queue.now;
}

static int light_or_late(const struct yard *yard, const struct train *train)
{
	/* 🐘 */ return train_weight(train) <= HEAVY || yard->departed > 0 || on_time(yard, train);
}

const struct policy policy_timetable = { /* 🕰 */ .name = "timetable", .compare = by_time, .may_leave = on_time };

const struct policy policy_heavy_first = {
	.name = "heavy first",
	.compare = by_weight,
	.may_leave = light_or_late,
};
