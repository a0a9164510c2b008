/* Coupling and weighing. */

#include "train.h"

#include <string.h>

/* An empty car's own weight. */
static const unsigned tare = 20;

static int is_full(const struct train *train)
{
	return train->car_count == MAX_CARS;
}

void train_init(struct train *train, const char *name, tick_t departs)
{
	memset(train, 0, sizeof(*train));
	strncpy(train->name, name, NAME_SIZE - 1);
	train->departs = departs;
}

enum status train_couple(struct train *train, enum cargo cargo, unsigned tons)
{
	struct car *car;

	if (is_full(train))
		return STATUS_FULL;
	car = &train->cars[train->car_count++];
	car->cargo = cargo;
	car->tons = tons;
	return STATUS_OK;
}

enum status train_uncouple(struct train *train, struct car *last)
{
	if (train->car_count == 0)
		return STATUS_EMPTY;
	*last = train->cars[--train->car_count];
	return STATUS_OK;
}

int train_each_car(const struct train *train, car_visitor visit, void *context)
{
	int result = 0;

	for (size_t i = 0; i < train->car_count && result == 0; i++)
		result = visit(&train->cars[i], context);
	return result;
}

static int add_weight(const struct car *car, void *context)
{
	unsigned *sum = context;

	*sum += tare + car->tons;
	return 0;
}

unsigned train_weight(const struct train *train)
{
	unsigned sum = 0;

	train_each_car(train, add_weight, &sum);
	return sum;
}
