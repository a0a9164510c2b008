#include "ships.hpp"

namespace harbour {

double Ship::fee(int nights) const
{
	return weight() * nights;
}

Tanker::Tanker(const char *name, double length, double oil) : name_(name), length_(length), oil_(oil) {}

double Tanker::weight() const
{
	return length_ * 10 + oil_;
}

const char *Tanker::name() const
{
	return name_;
}

Ferry::Ferry(double length) : length_(length) {}

double Ferry::weight() const
{
	return length_ * 3;
}

double Ferry::fee(int nights) const
{
	return Ship::fee(nights) / 2;
}

const char *Ferry::name() const
{
	return "ferry";
}

double Raft::weight() const
{
	return heavy(1);
}

const char *Raft::name() const
{
	return "raft";
}

double heavy(double length)
{
	return length * 20;
}

int describe(const Ship &ship)
{
	return ship.name()[0] + static_cast<int>(ship.weight());
}

} // namespace harbour
