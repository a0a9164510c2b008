/* Trains come in, and leave in the order of the policy. */

#include "yard.h"

#include <string.h>

void yard_init(struct yard *yard, const struct policy *policy)
{
	yard->train_count = 0;
	yard->departed = 0;
	yard->policy = policy;
	queue_init(&yard->queue);
}

static void on_departure(const struct event *event, void *context)
{
	struct yard *yard = context;

	(void)event;
	yard_dispatch(yard);
}

struct train *yard_add(struct yard *yard, const char *name, tick_t departs)
{
	struct train *train;

	if (yard->train_count == MAX_TRAINS)
		return NULL;
	train = &yard->trains[yard->train_count++];
	train_init(train, name, departs);
	if (queue_push(&yard->queue, departs, on_departure, yard) != STATUS_OK)
		yard->train_count--;
	return train;
}

struct train *yard_find(struct yard *yard, const char *name)
{
	for (size_t i = 0; i < yard->train_count; i++)
		if (strncmp(yard->trains[i].name, name, NAME_SIZE) == 0)
			return &yard->trains[i];
	return NULL;
}

static size_t first_to_leave(const struct yard *yard)
{
	size_t best = yard->train_count;

	for (size_t i = 0; i < yard->train_count; i++) {
		const struct train *train = &yard->trains[i];

		if (!yard->policy->may_leave(yard, train))
			continue;
		if (best == yard->train_count || yard->policy->compare(train, &yard->trains[best]) < 0)
			best = i;
	}
	return best;
}

static void remove_train(struct yard *yard, size_t index)
{
	yard->train_count--;
	for (size_t i = index; i < yard->train_count; i++)
		yard->trains[i] = yard->trains[i + 1];
}

enum status yard_dispatch(struct yard *yard)
{
	size_t index = first_to_leave(yard);

	if (index == yard->train_count)
		return STATUS_EMPTY;
	remove_train(yard, index);
	yard->departed++;
	return STATUS_OK;
}

size_t yard_simulate(struct yard *yard, tick_t until)
{
	size_t before = yard->departed;

	queue_run(&yard->queue, until);
	return yard->departed - before;
}
