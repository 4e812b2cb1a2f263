// Tells the uploader's style that scripts run; in the portal theme.js does, but the admin has its own theme.
document.documentElement.dataset.js = "";
