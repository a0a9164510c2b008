/* What lies in a harbour. */
#pragma once

namespace harbour {

/** Anything that floats and pays. */
class Ship {
public:
	virtual ~Ship() = default;
	virtual double weight() const = 0;
	virtual double fee(int nights) const;
	virtual const char *name() const = 0;
};

class Tanker : public Ship {
public:
	Tanker(const char *name, double length, double oil);
	double weight() const override;
	const char *name() const override;

private:
	const char *name_;
	double length_;
	double oil_;
};

class Ferry : public Ship {
public:
	explicit Ferry(double length);
	double weight() const override;
	double fee(int nights) const override;
	const char *name() const override;

private:
	double length_;
};

class Raft : public Ship {
public:
	double weight() const override;
	const char *name() const override;
};

double heavy(double length);
int describe(const Ship &ship);

} // namespace harbour
