/* A night in the yard. */

#include "report.h"

static void load(struct train *train, enum cargo cargo, const unsigned *tons, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (train_couple(train, cargo, tons[i]) != STATUS_OK)
			break;
}

static enum status fill(struct yard *yard)
{
	static const unsigned harvest[] = { 40, 42, 38 }, beams[] = { 60, 61, 59, 60 };
	struct train *größe = yard_add(yard, "Große 🌾 Linie", 30), *steel = yard_add(yard, "Stahl", 20);
	struct train *night = yard_add(yard, "夜行", 10);

	if (!größe || !steel || !night)
		return STATUS_FULL;
	load(größe, CARGO_GRAIN, harvest, ARRAY_LEN(harvest));
	load(steel, CARGO_STEEL, beams, ARRAY_LEN(beams));
	return train_couple(night, CARGO_PEOPLE, MIN(80u, 75u));
}

static int run(const struct policy *policy)
{
	struct yard yard;
	struct car dropped;
	enum status status;

	yard_init(&yard, policy);
	status = fill(&yard);
	if (status != STATUS_OK) {
		REPORT(stderr, "cannot fill the yard: %s", status_name(status));
		return 1;
	}
	report_totals(stdout, &yard);
	if (train_uncouple(yard_find(&yard, "Stahl"), &dropped) == STATUS_OK)
		/* 🔧 */ REPORT(stdout, "dropped %u t of %s", dropped.tons, cargo_name(dropped.cargo));
	yard_simulate(&yard, 25);
	report_yard(stdout, &yard);
	return 0;
}

int main(void)
{
	return run(&policy_timetable) | run(&policy_heavy_first);
}
