// Starts the application in the page, and names the style sheets in their order.
// Everything else is in application.tsx and below.
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Application } from './application';
import './styles/base.css';
import './styles/parts.css';
import './styles/time-graph.css';
import './styles/views.css';
import './styles/transfers.css';
import './styles/exploration.css';

createRoot(document.getElementById('application')!).render(
  <StrictMode>
    <Application />
  </StrictMode>,
);
