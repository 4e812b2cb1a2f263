// Publishing a provider: dropped files are recognised first, and sent one by one on confirmation.
// Without this file the forms work in two steps.

import { ProviderUpload } from "./upload/provider/upload.js";

for (const form of document.querySelectorAll("form[data-provider-publish], form[data-provider-draft]")) new ProviderUpload(form);
