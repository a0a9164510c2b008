import QtQml

// Shows what one sensor says.
QtObject {
    id: gauge
    property string station: "roof"
    property real celsius: 0

    function label() {
        return gauge.station + ": " + gauge.celsius.toFixed(1);
    }

    function warn() {
        if (gauge.celsius < 0)
            console.log(gauge.label());
    }
}
