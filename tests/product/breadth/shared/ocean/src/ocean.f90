module ocean
  implicit none
  private
  public :: water_column, density_of

  !> One column of water below a buoy.
  type :: water_column
    real :: temperature
    real :: salinity
  end type water_column

contains

  !> The density in kilograms per cubic metre.
  function density_of(column) result(density)
    type(water_column), intent(in) :: column
    real :: density
    density = 999.8 + 0.8 * column%salinity - 0.2 * column%temperature
  end function density_of

end module ocean
