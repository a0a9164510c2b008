#pragma once

#include "ships.hpp"

namespace harbour {

/** A place for one ship. */
struct Berth {
	int number = 0;
	const Ship *ship = nullptr;

	bool take(const Ship &next);
	void leave();
};

double due(const Ship &ship, int nights);
double collect(const Berth *first, const Berth *last, int nights);

} // namespace harbour
