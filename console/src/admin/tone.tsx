/** Notes and tags whose colours are readable in light and dark. */
import type { ReactNode, Ref } from 'react';
import { Alert, Badge } from '@mantine/core';
import type { AlertProps, BadgeProps } from '@mantine/core';

export type Tone = 'ok' | 'warn' | 'alert' | 'info' | 'idle';
const colour = (tone: Tone): string => `var(--offhook-${tone})`;
interface NoteProps extends Omit<AlertProps, 'color' | 'variant' | 'vars'> {
  readonly tone: Tone;
  readonly role?: string;
  readonly ref?: Ref<HTMLDivElement>;
}
export const Note = ({ tone, ...props }: NoteProps): ReactNode => (
  <Alert
    role="note"
    {...props}
    variant="light"
    vars={() => ({
      root: {
        '--alert-color': colour(tone),
        '--alert-bg': `color-mix(in srgb, ${colour(tone)} 10%, var(--mantine-color-body))`,
        '--alert-bd': '1px solid var(--offhook-line)',
      },
    })}
  />
);
interface TagProps extends Omit<BadgeProps, 'color' | 'variant'> {
  readonly tone: Tone;
  readonly children: ReactNode;
}
export const Tag = ({ tone, ...props }: TagProps): ReactNode => (
  <Badge tt="none" {...props} variant="outline" style={{ color: colour(tone), borderColor: colour(tone) }} />
);
