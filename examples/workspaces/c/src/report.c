/* Tables for people. */

#include "report.h"

const char *const report_prefix = "🚂";

struct totals {
	unsigned tons[CARGO_KINDS];
	size_t cars;
};

static int count_car(const struct car *car, void *context)
{
	struct totals *totals = context;

	if (car->cargo >= CARGO_KINDS)
		return 1;
	totals->tons[car->cargo] += car->tons;
	totals->cars++;
	return 0;
}

void report_train(FILE *out, const struct train *train)
{
	REPORT(out, "%-20s %zu cars, %u t, leaves at %u", train->name, train->car_count, train_weight(train), train->departs);
}

void report_yard(FILE *out, const struct yard *yard)
{
	/* 🛤 */ REPORT(out, "%zu trains wait, %zu have left (%s)", yard->train_count, yard->departed, yard->policy->name);
	for (size_t i = 0; i < yard->train_count; i++)
		report_train(out, &yard->trains[i]);
}

void report_totals(FILE *out, const struct yard *yard)
{
	struct totals totals = { .cars = 0 };

	for (size_t i = 0; i < yard->train_count; i++)
		train_each_car(&yard->trains[i], count_car, &totals);
	for (int cargo = CARGO_GRAIN; cargo < CARGO_KINDS; cargo++)
		REPORT(out, "%s: %u t", cargo_name((enum cargo)cargo), totals.tons[cargo]);
	REPORT(out, "%zu cars", totals.cars);
}
