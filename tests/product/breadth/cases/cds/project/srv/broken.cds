using { garden } from '../db/plants';

service Reports {
  entity Sales as projection on garden.Salles;
}
