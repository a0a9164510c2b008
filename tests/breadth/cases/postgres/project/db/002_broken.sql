select name, cents form plants wher cents > 100;
alter table plants drop column cents;
