module buoy
  use ocean, only: water_column, density_of
  implicit none

contains

  subroutine report(column)
    type(water_column), intent(in) :: column
    real :: here
    here = density_of(column)
    print *, "density", here
  end subroutine report

end module buoy
