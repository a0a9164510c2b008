using { garden } from '../db/plants';

service Admin {
  entity Stock as select from garden.Plants { ID, name };
  entity Orders as projection on garden.OrderLines;
}
