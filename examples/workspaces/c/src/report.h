#ifndef RAILYARD_REPORT_H
#define RAILYARD_REPORT_H

/* What people get to see. */

#include <stdio.h>

#include "yard.h"

#define REPORT(out, format, ...) fprintf((out), "%s " format "\n", report_prefix, __VA_ARGS__)

extern const char *const report_prefix;

void report_train(FILE *out, const struct train *train);
void report_yard(FILE *out, const struct yard *yard);
void report_totals(FILE *out, const struct yard *yard);

#endif
