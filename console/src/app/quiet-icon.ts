import { ActionIcon } from '@mantine/core';

/** A button that is an icon beside a row or in a bar. */
export const QuietIcon = ActionIcon.withProps({ variant: 'subtle', color: 'gray', size: 40 });
