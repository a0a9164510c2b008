using { garden } from '../db/plants';

service Shop {
  entity Catalogue as projection on garden.Plants;
}
