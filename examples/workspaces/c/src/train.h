#ifndef RAILYARD_TRAIN_H
#define RAILYARD_TRAIN_H

/* A train: an engine's name and the cars behind it. */

#include "types.h"

struct car {
	enum cargo cargo;
	unsigned tons;
};

struct train {
	char name[NAME_SIZE];
	struct car cars[MAX_CARS];
	size_t car_count;
	tick_t departs;
};

/* Called for each car; a nonzero result ends the walk and is returned. */
typedef int (*car_visitor)(const struct car *car, void *context);

void train_init(struct train *train, const char *name, tick_t departs);
enum status train_couple(struct train *train, enum cargo cargo, unsigned tons);
enum status train_uncouple(struct train *train, struct car *last);
unsigned train_weight(const struct train *train);
int train_each_car(const struct train *train, car_visitor visit, void *context);

#endif
