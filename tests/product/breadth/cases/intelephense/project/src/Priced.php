<?php
namespace Garden;

/** Something that has a price. */
interface Priced
{
    public function cents(): int;
}
