import { createTheme } from '@mantine/core';
import type { CSSVariablesResolver, MantineColorsTuple, MantineThemeOverride } from '@mantine/core';

const offhook: MantineColorsTuple = [
  '#e9f7f1',
  '#d3eee2',
  '#a6dec6',
  '#75cca8',
  '#4cbb8d',
  '#2aa577',
  '#148a61',
  '#0b6e4f',
  '#07573e',
  '#043f2d',
];
const dark: MantineColorsTuple = [
  '#e6ecef',
  '#c3cdd4',
  '#a3b1ba',
  '#7d8d98',
  '#4b5a65',
  '#36434d',
  '#28333b',
  '#1b242a',
  '#141b20',
  '#0d1216',
];

/** One look for every page; contrast is at least 4.5:1 in both colour schemes, which the tests of each page hold. */
export const theme: MantineThemeOverride = {
  primaryColor: 'offhook',
  primaryShade: 7,
  colors: { offhook, dark },
  defaultRadius: 'md',
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace:
    'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
  respectReducedMotion: true,
};
/** While a dialog fades away, the second half of a double click would reach its buttons. */
const AT_ONCE = { duration: 200, exitDuration: 0 } as const;
/** Labels of the buttons that components add themselves: the close button, and the eye of a password. */
export function themeOf(close: string, showPassword: string): MantineThemeOverride {
  const closeButtonProps = { 'aria-label': close };
  return createTheme({
    ...theme,
    components: {
      Modal: {
        defaultProps: { closeButtonProps, transitionProps: { ...AT_ONCE, transition: 'fade-down' } },
      },
      Drawer: { defaultProps: { closeButtonProps, transitionProps: AT_ONCE } },
      Notification: {
        defaultProps: { closeButtonProps },
        // The library's grey has too little contrast.
        styles: { description: { color: 'var(--mantine-color-text)' } },
      },
      PasswordInput: {
        defaultProps: {
          visibilityToggleButtonProps: { 'aria-label': showPassword },
          visibilityToggleFocusable: true,
        },
      },
      // A click on the selected option confirms it; fields that can be empty have a button for that.
      Select: { defaultProps: { allowDeselect: false } },
      // The placeholder element is not an item of the menu.
      Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
      Table: { defaultProps: { highlightOnHoverColor: 'var(--mantine-color-default-hover)' } },
    },
  });
}
/** White text on Mantine's red has too little contrast. */
const RED = {
  '--mantine-color-red-filled': '#c92a2a',
  '--mantine-color-red-filled-hover': '#b02525',
  // Mantine's default is too faint to read in both colour schemes.
  '--mantine-color-error': 'var(--offhook-alert)',
};
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    ...RED,
    '--offhook-page': '#f6f7f6',
    '--mantine-color-dimmed': '#55626c',
    '--offhook-line': '#e1e5e7',
    '--offhook-ok': '#0b6e4f',
    '--offhook-warn': '#8a5300',
    '--offhook-alert': '#b3261e',
    '--offhook-info': '#1c5fa8',
    '--offhook-idle': '#55626c',
  },
  dark: {
    ...RED,
    '--mantine-color-body': '#182026',
    '--offhook-page': '#0f1519',
    // Mantine's defaults look like an alarm, or are darker than the page.
    '--mantine-color-offhook-light': '#1c3a32',
    '--mantine-color-offhook-light-hover': '#22463c',
    '--mantine-color-red-light': '#3c2427',
    '--mantine-color-red-light-hover': '#492b2f',
    '--mantine-color-yellow-light': '#3a3020',
    '--mantine-color-green-light': '#1c3a32',
    '--mantine-color-gray-light': '#2b3740',
    '--mantine-color-dimmed': '#a3b1ba',
    '--mantine-color-default-hover': '#303c46',
    '--offhook-line': '#2b3740',
    '--offhook-ok': '#5fd0a3',
    '--offhook-warn': '#f2b75c',
    '--offhook-alert': '#ff8f85',
    '--offhook-info': '#86bdff',
    '--offhook-idle': '#a3b1ba',
  },
});
/** The nonce of this page, for the style elements the component library writes. */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
