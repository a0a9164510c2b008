#!/usr/bin/perl
use strict;
use warnings;
use lib 'lib';
use Harbour::Gauge;
use Harbour::Report;

my $pier = Harbour::Gauge->new(name => 'pier', levels => [ 1.2, 1.9, 2.4 ]);
my $mean = $pier->mean_level();
printf "%s %.2f\n", $pier->name, $mean;
print Harbour::Report::highest(1.0, 2.0), "\n";
