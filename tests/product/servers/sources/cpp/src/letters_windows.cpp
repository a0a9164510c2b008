/* Columns: astral and combining characters and tabs before the names. This file gets Windows line ends. */
#include "books.hpp"

using namespace harbour;

double größe(const Ship &ship, const char *zeichen = "🚢𝒳", int nights = 1)
{
	/* 👩‍👩‍👧 */ return due(ship,	nights) + zeichen[0] + /* é */ ship.weight();
}

class Fähre : public Raft {
public:
	/* 🚢 */ double weight() const override { /* 𝒳 */ return Raft::weight() + größe(*this, "🧮"); }
};

double straße(const Ship &𠮷)
{
	const char *z = "🇫🇷 𝒳"; return z[0] + describe(𠮷) + "𝒳 é"[1] + 𠮷.weight() + größe(𠮷, "𝒳", 3);
}

double 名前()
{
	/* 𝒳𝒳 */ Fähre 𠮷; /* eé */ Raft raft; /* 🚢 */ return straße(𠮷) + straße(raft) + /* 𝒳 */ größe(𠮷);
}
