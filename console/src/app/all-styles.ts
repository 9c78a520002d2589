/** Styles of every component; in a layer, so that what the first load brought and our own go on to hold. */
import '@mantine/core/styles.layer.css';
