/** Styles of every component; in a layer, so that the first load's and our own styles keep priority. */
import '@mantine/core/styles.layer.css';
