#include "books.hpp"

using namespace harbour;

static double run(int nights)
{
	Tanker tanker("Oslo", 120, 900);
	Ferry ferry(heavy(3));
	Raft raft;
	Berth berths[3];

	berths[0].take(tanker);
	berths[1].take(ferry);
	berths[2].take(raft);
	berths[1].leave();
	return collect(berths, berths + 3, nights) + describe(raft) + due(ferry, nights);
}

int main()
{
	return static_cast<int>(run(2));
}
