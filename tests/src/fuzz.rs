//! Bodies of the fuzz targets, so that ordinary tests run them too.
