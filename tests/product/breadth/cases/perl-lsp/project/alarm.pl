use strict;
use warnings;
use Carp;

my $limit = 4.5;
if (measured_level() > $limit) {
    croak "storm flood";
}
