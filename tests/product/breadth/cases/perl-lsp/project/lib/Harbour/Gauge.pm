package Harbour::Gauge;

use strict;
use warnings;

sub new {
    my ($class, %args) = @_;
    my $self = { name => $args{name}, levels => [ @{ $args{levels} } ] };
    return bless $self, $class;
}

# The mean of all readings, in metres.
sub mean_level {
    my ($self) = @_;
    my $sum = 0;
    $sum += $_ for @{ $self->{levels} };
    return $sum / @{ $self->{levels} };
}

sub name { return $_[0]{name} }

sub describe {
    my ($self) = @_;
    return sprintf '%s: %.2f m', $self->name, $self->mean_level;
}

1;
