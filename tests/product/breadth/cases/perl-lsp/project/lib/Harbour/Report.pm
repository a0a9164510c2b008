package Harbour::Report;

use strict;
use warnings;
use Harbour::Gauge;

sub highest {
    my (@levels) = @_;
    my $gauge = Harbour::Gauge->new(name => 'harbour', levels => \@levels);
    return sprintf '%s: %.1f m', $gauge->name, $gauge->mean_level;
}

1;
