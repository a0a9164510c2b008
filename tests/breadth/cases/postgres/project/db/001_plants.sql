create table plants (
  id bigint primary key,
  name text not null,
  cents integer not null
);
