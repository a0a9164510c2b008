/* Errors on purpose, for a compiler to find. The Makefile leaves this file out. */

#include "yard.h"

int wrong_field(const struct train *train)
{
	return train->carcount;
}

unsigned wrong_arguments(struct train *train)
{
	train_couple(train, CARGO_STEEL);
	return train_weight("🚃");
}

enum status undeclared(struct yard *yard)
{
	yard->policy = &policy_lightest;
	return STATUS_OK
}

void unused(void)
{
	int forgotten;
}
