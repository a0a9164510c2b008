#include "books.hpp"

namespace harbour {

bool Berth::take(const Ship &next)
{
	if (ship != nullptr)
		return false;
	ship = &next;
	return true;
}

void Berth::leave()
{
	ship = nullptr;
}

double due(const Ship &ship, int nights)
{
	return ship.fee(nights);
}

double collect(const Berth *first, const Berth *last, int nights)
{
	double total = 0;
	for (const Berth *berth = first; berth != last; ++berth) {
		if (berth->ship != nullptr)
			total += due(*berth->ship, nights);
	}
	return total;
}

} // namespace harbour
