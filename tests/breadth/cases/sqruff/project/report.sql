select name, Cents FROM plant
where cents>100   order by name
