package Harbour::RadarGauge;

use strict;
use warnings;
use parent 'Harbour::Gauge';

# Echoes arrive in tenths of a metre.
sub mean_level {
    my ($self) = @_;
    my $echoes = $self->{levels};
    return @$echoes ? $echoes->[0] / 10 : 0;
}

1;
