import type { ReactNode } from 'react';
import { Notifications } from '@mantine/notifications';

export const Notices = (): ReactNode => <Notifications position="bottom-right" limit={4} />;
